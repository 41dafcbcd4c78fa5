package recovery

import (
	"os"
	"testing"

	"github.com/refrain-dev/refrain/proof/processes"
)

func TestMain(m *testing.M) { os.Exit(processes.Main(m)) }
