// Package recovery restores a database under real demo processes, on every engine:
// a backup, more orders, the backup again, and then every request once more.
package recovery
