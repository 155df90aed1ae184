"""Chapters and tables: reading them, drawing tables into chapters, looking rows up, and checking it all."""
