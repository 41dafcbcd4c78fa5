// Package otherserver proves which transactions ExecuteIn refuses because they are
// on another server, and that a pooler's, and those of a promoted standby, are not.
package otherserver
