"""The demands of SARIF 2.1.0 on the parts that are written."""

from __future__ import annotations

MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
LOGICAL = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"name": {"type": "string"}, "fullyQualifiedName": {"type": "string"}, "kind": {"type": "string"}},
}
ARTIFACT = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"uri": {"type": "string", "format": "uri-reference"}, "index": {"type": "integer", "minimum": -1}},
}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "minimum": -1},
        "physicalLocation": {"type": "object", "properties": {"artifactLocation": ARTIFACT}},
        "logicalLocations": {"type": "array", "uniqueItems": True, "items": LOGICAL},
    },
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "shortDescription": MESSAGE,
        "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}},
    },
}
RESULT = {
    "type": "object",
    "required": ["message"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": {"type": "array", "items": LOCATION},
        "relatedLocations": {"type": "array", "items": LOCATION, "uniqueItems": True},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
    "if": {"properties": {"kind": {"not": {"const": "fail"}}}},
    "then": {"properties": {"level": {"const": "none"}}},
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {"type": "array", "uniqueItems": True, "items": RULE},
                                },
                            }
                        },
                    },
                    "automationDetails": {"type": "object", "properties": {"id": {"type": "string"}}},
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {"required": ["message"], "properties": {"message": MESSAGE}},
                                },
                            },
                        },
                    },
                    "artifacts": {"type": "array", "items": {"properties": {"location": ARTIFACT}}},
                    "results": {"type": "array", "items": RESULT},
                    "properties": {"type": "object"},
                },
            },
        },
    },
}
"""Requirements of the SARIF 2.1.0 schema for the parts that are written."""
