// Package lab has what the lab's consumers in Go share: settings from the environment, handlers, the way to end.
package lab

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Text returns a variable that must be set.
func Text(name string) string {
	value := os.Getenv(name)
	if value == "" {
		log.Fatalf("%s is not set, but the consumer needs it.", name)
	}
	return value
}

// Brokers returns the addresses to ask first.
func Brokers() []string { return strings.Split(Text("KAFKA_BROKERS"), ",") }

// LocalAddr returns the address to connect from, which is the pod's where POD_IP says it; nil else.
func LocalAddr() net.Addr {
	if ip := net.ParseIP(os.Getenv("POD_IP")); ip != nil {
		return &net.TCPAddr{IP: ip}
	}
	return nil
}

// Set calls use with the duration that a variable says, if it is set: the library's default holds else.
func Set(name string, use func(time.Duration)) {
	value, found := os.LookupEnv(name)
	if !found {
		return
	}
	duration, err := time.ParseDuration(value)
	if err != nil {
		log.Fatalf("%s is %q, but it must be a duration.", name, value)
	}
	use(duration)
}

// Handle handles one message as HANDLER says; the duration is HANDLER_MS.
func Handle() {
	duration, _ := time.ParseDuration(os.Getenv("HANDLER_MS") + "ms")
	switch os.Getenv("HANDLER") {
	case "wait":
		time.Sleep(duration)
	case "block":
		for until := time.Now().Add(duration); time.Now().Before(until); {
		}
	case "hang":
		select {}
	}
}

// UntilTold returns a context that ends with SIGTERM.
func UntilTold() context.Context {
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	return ctx
}
