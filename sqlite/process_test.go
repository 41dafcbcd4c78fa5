package sqlite

func child(string) {}
