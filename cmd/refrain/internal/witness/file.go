// Package witness keeps how far a store had come in a file.
package witness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// File is a witness in the file at this path. It belongs on another disk than the
// database and must not be restored with it. Several processes may share it.
type File string

// Load implements [upkeep.Witness].
func (f File) Load(context.Context) (upkeep.Incarnation, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return upkeep.Incarnation{}, record.ErrNotFound
	}
	var i upkeep.Incarnation
	if err == nil {
		err = json.Unmarshal(text, &i)
	}
	if err == nil && i.Store == "" {
		err = errors.New("it names no store")
	}
	if err != nil {
		return upkeep.Incarnation{}, fmt.Errorf("witness %s: %w", string(f), err)
	}
	return i, nil
}

// Save implements [upkeep.Witness]. The file is replaced as a whole: a crash leaves
// the old one or the new. A link stays, and the file that it names is replaced.
func (f File) Save(_ context.Context, i upkeep.Incarnation) (err error) {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	path, err := target(string(f))
	if err != nil {
		return fmt.Errorf("witness %s: %w", string(f), err)
	}
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("witness %s: %w", string(f), err), os.Remove(next.Name()))
		}
	}()
	_, err = next.Write(append(text, '\n'))
	if err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), path)
}

// target is the file that a path names, through links, whether or not it is there.
func target(path string) (string, error) {
	there, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return there, err
	}
	to, err := os.Readlink(path)
	if err != nil {
		return path, nil // not there, and no link to it either
	}
	if !filepath.IsAbs(to) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		to = filepath.Join(dir, to)
	}
	return target(to)
}
