"""Find fields of JSON records in columns of bytes, by compiled code.

A record is walked whole. What is sure to be an object of JSON, with fields that a codec accepts, is
read here. All else, which may be refused or merely unusual, is left to orjson.
"""
