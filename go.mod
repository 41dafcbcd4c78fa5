module github.com/refrain-dev/refrain

go 1.26.0
