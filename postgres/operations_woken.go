package postgres

// operationsPayload tells of operations that are due; others are hashes.
const operationsPayload = "external"

// operationsDue is a channel that receives when operations may be due, if any is
// told of here.
func (e *ears) operationsDue(telling bool) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loops == 0 && !telling {
		return nil
	}
	return e.due()
}

// due is made under the lock.
func (e *ears) due() chan struct{} {
	if e.operations == nil {
		e.operations = make(chan struct{}, 1)
	}
	return e.operations
}

// hearDue wakes whoever waits for operations, and the next one who comes.
func (e *ears) hearDue() {
	e.mu.Lock()
	due := e.due()
	e.mu.Unlock()
	for {
		select {
		case due <- struct{}{}:
		default:
			return
		}
	}
}
