package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/contracts"
	"github.com/refrain-dev/refrain/fingerprint"
)

func (m *Main) contractRegister() *cobra.Command {
	var agreed bool
	cmd := &cobra.Command{
		Use:   "register FILE",
		Short: "Store contracts as a starting service does, or agree to a shorter memory",
		Long: `register stores the contracts of FILE in the database --db names and prints
what that changes. A memory that is shorter than the stored one needs --yes;
records keep the deadlines they have. Other dimensions are refused: see rekey.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.runContractRegister(cmd.Context(), args[0], agreed)
		},
	}
	cmd.Flags().BoolVar(&agreed, "yes", false, "agree to a shorter memory")
	return cmd
}

func (m *Main) runContractRegister(ctx context.Context, file string, agreed bool) (err error) {
	at, err := m.named()
	if err != nil {
		return err
	}
	text, err := readFile(file)
	if err != nil {
		return err
	}
	list, err := contracts.Parse(text)
	if err == nil && len(list) == 0 {
		err = errors.New("it is an empty list")
	}
	if err != nil {
		return misused("give a published contract, a list of them, or what a service publishes", "%s has no contracts: %w", file, err)
	}
	offered := make([]refrain.Contract, len(list))
	for i, p := range list {
		offered[i] = complete(p.Contract)
		if err := offered[i].Validate(); err != nil {
			return misused("publish it with a binary that validates it", "%w", err)
		}
	}
	db, err := openCurrent(ctx, at, brief)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	stored, err := db.Contracts(ctx)
	if err != nil {
		return err
	}
	changes, err := changesOf(stored, list)
	if err != nil {
		return err
	}
	if err := m.printChanges(changes); err != nil {
		return err
	}
	register := db.Register
	if agreed {
		register = db.RegisterShorter
	}
	switch err := register(ctx, offered...); {
	case errors.Is(err, refrain.ErrShorterMemory):
		return differs("if it is meant: --yes", "%w", err)
	case errors.Is(err, refrain.ErrContractChanged):
		return differs("stop its processes, then: refrain contract rekey --db "+dbWord(at)+" --operation ID", "%w", err)
	case err != nil:
		return err
	}
	return nil
}

// changesOf compares the offered contracts with what is stored of their operations.
func changesOf(stored map[string]string, offered []contracts.Published) ([]contracts.Change, error) {
	var older []contracts.Published
	for _, p := range offered {
		text, known := stored[p.Operation]
		if !known {
			continue
		}
		var o contracts.Published
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return nil, fmt.Errorf("the stored contract of %q: %w", p.Operation, err)
		}
		older = append(older, o)
	}
	return contracts.Compare(older, offered), nil
}

// complete lets a contract validate whose meaning only its service can compute:
// what is stored of it is the rule's name.
func complete(c refrain.Contract) refrain.Contract {
	if c.MeaningRule != "" {
		c.Meaning = func(fingerprint.Request) ([]byte, error) { return nil, errors.ErrUnsupported }
	}
	return c
}
