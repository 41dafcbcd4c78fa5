package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// upstream answers what it reads with the same, and keeps what it read.
type upstream struct {
	net.Listener
	mu   sync.Mutex
	read bytes.Buffer
	all  sync.WaitGroup
}

func echo(t *testing.T) *upstream {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{Listener: listener}
	u.all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			u.all.Go(func() {
				defer conn.Close()
				piece := make([]byte, 1<<10)
				for {
					n, err := conn.Read(piece)
					u.mu.Lock()
					u.read.Write(piece[:n])
					u.mu.Unlock()
					if _, failed := conn.Write(piece[:n]); err != nil || failed != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); u.all.Wait() })
	return u
}

// got is all that was read; complete once no connection is left.
func (u *upstream) got() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.read.String()
}

func between(t *testing.T) (*upstream, *Proxy) {
	t.Helper()
	u := echo(t)
	return u, New(t, u.Addr().String(), nil)
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v, want %q", got, err, want)
	}
}

func TestForwards(t *testing.T) {
	_, p := between(t)
	conn := dial(t, p)
	say(t, conn, "hello")
	hear(t, conn, "hello")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	if up, down := p.Passed(Up), p.Passed(Down); up != 5 || down != 5 {
		t.Errorf("%d up, %d down", up, down)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		d     Direction
		n     int64
		how   How
		heard string // of "abcdef", behind "ab"
		read  string // by the server; "" where that is its own matter
		end   error
	}{
		{"up, closed", Up, 3, Close, "", "ababc", io.EOF},
		{"up before a byte", Up, 0, Close, "", "ab", io.EOF},
		{"up, reset", Up, 3, Reset, "", "", syscall.ECONNRESET},
		{"down, closed", Down, 4, Close, "abcd", "", io.EOF},
		{"down, reset", Down, 0, Reset, "", "", syscall.ECONNRESET},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, p := between(t)
			conn := dial(t, p)
			say(t, conn, "ab")
			hear(t, conn, "ab")
			done := p.Cut(tt.d, tt.n, tt.how)
			say(t, conn, "abcdef")
			<-done
			heard, err := io.ReadAll(conn)
			if err == nil {
				err = io.EOF
			}
			if string(heard) != tt.heard && tt.d == Down || !errors.Is(err, tt.end) {
				t.Errorf("heard %q, %v, want %q, %v", heard, err, tt.heard, tt.end)
			}
			other := dial(t, p) // and only that one
			say(t, other, "more")
			hear(t, other, "more")
			other.Close()
			p.close()
			u.Close()
			u.all.Wait()
			if want := tt.read + "more"; tt.read != "" && u.got() != want {
				t.Errorf("the server read %q, want %q", u.got(), want)
			}
		})
	}
}

func TestCutCountsOverAllConnections(t *testing.T) {
	_, p := between(t)
	one, other := dial(t, p), dial(t, p)
	done := p.Cut(Down, 5, Reset)
	say(t, one, "abc")
	hear(t, one, "abc")
	say(t, other, "def")
	<-done
	if _, err := io.ReadAll(other); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the other's end is %v", err)
	}
	say(t, one, "ghi")
	hear(t, one, "ghi")
	p.Cut(Up, 1, Reset)
	p.Spare()
	say(t, one, "jkl")
	hear(t, one, "jkl")
}

// silent demands that nothing arrives for a moment.
func silent(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v; want silence", n, err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
}

func TestPause(t *testing.T) {
	_, p := between(t)
	conn := dial(t, p)
	p.Pause()
	say(t, conn, "kept")
	silent(t, conn)
	p.Resume()
	hear(t, conn, "kept")
}

func TestBlackhole(t *testing.T) {
	u, p := between(t)
	conn := dial(t, p)
	p.Blackhole(true)
	say(t, conn, "lost")
	silent(t, conn)
	p.Blackhole(false)
	say(t, conn, "found")
	hear(t, conn, "found")
	if u.got() != "found" {
		t.Errorf("the server read %q", u.got())
	}
}

func TestRefuseAndSever(t *testing.T) {
	_, p := between(t)
	old := dial(t, p)
	say(t, old, "a")
	hear(t, old, "a")
	p.Refuse(true)
	refused, err := net.Dial("tcp", p.Addr())
	if err == nil { // the end comes at once or a moment later
		_, err = io.ReadAll(refused)
		refused.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a refused connection ends with %v", err)
	}
	say(t, old, "b")
	hear(t, old, "b")
	p.Sever(Reset)
	if _, err := io.ReadAll(old); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a severed connection ends with %v", err)
	}
	p.Refuse(false)
	conn := dial(t, p)
	say(t, conn, "c")
	hear(t, conn, "c")
}

func TestDelay(t *testing.T) {
	_, p := between(t)
	conn := dial(t, p)
	p.Delay(20 * time.Millisecond)
	began := time.Now()
	say(t, conn, "slow")
	hear(t, conn, "slow")
	if took := time.Since(began); took < 40*time.Millisecond {
		t.Errorf("both ways took %v", took)
	}
}

// TestHold keeps the answer to a COMMIT and no other.
func TestHold(t *testing.T) {
	u := echo(t)
	p := New(t, u.Addr().String(), func() Matcher { return lines{} })
	for _, release := range []bool{true, false} {
		conn := dial(t, p)
		held := p.Hold()
		say(t, conn, "insert\n")
		hear(t, conn, "insert\n")
		say(t, conn, "commit\n")
		<-held.Reached
		silent(t, conn)
		other := dial(t, p)
		say(t, other, "commit\n")
		hear(t, other, "commit\n")
		if release {
			held.Release()
			hear(t, conn, "commit\n")
			continue
		}
		held.Cut(Close)
		if line, err := bufio.NewReader(conn).ReadString('\n'); !errors.Is(err, io.EOF) {
			t.Errorf("%q, %v", line, err)
		}
	}
}

type lines struct{}

func (lines) Commits(piece []byte) bool { return commit.Match(piece) }
