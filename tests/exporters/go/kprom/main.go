// franz-go with its own Prometheus plug-in, kprom, all of whose counters and histograms are on.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"
)

var asked = regexp.MustCompile(`^(for|until) (\d{1,15})$`)

// handle does what a story's message asks: "for MS" takes so long, "until MS" until that time since 1970.
func handle(record *kgo.Record) {
	found := asked.FindStringSubmatch(string(record.Value))
	if found == nil {
		return
	}
	ms, _ := strconv.ParseInt(found[2], 10, 64)
	if found[1] == "until" {
		time.Sleep(time.Until(time.UnixMilli(ms)))
		return
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
}

func milliseconds(name string) time.Duration {
	ms, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		log.Fatalf("%s is %q, but it must be milliseconds.", name, os.Getenv(name))
	}
	return time.Duration(ms) * time.Millisecond
}

func main() {
	address := os.Getenv("POD_IP")
	metrics := kprom.NewMetrics(
		"kafka",
		kprom.GoCollectors(),
		kprom.WithClientLabel(),
		kprom.FetchAndProduceDetail(
			kprom.ByNode, kprom.ByTopic, kprom.Batches, kprom.Records, kprom.CompressedBytes, kprom.UncompressedBytes),
		kprom.Histograms(
			kprom.ReadWait, kprom.ReadTime, kprom.WriteWait, kprom.WriteTime, kprom.RequestDurationE2E, kprom.RequestThrottled),
	)
	// Its own address, by which the broker tells members apart as it does on a cluster.
	dialer := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	client, err := kgo.NewClient(
		kgo.WithHooks(metrics),
		kgo.Dialer(dialer.DialContext),
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BROKERS"), ",")...),
		kgo.ClientID(os.Getenv("KAFKA_CLIENT_ID")),
		kgo.ConsumerGroup(os.Getenv("KAFKA_GROUP_ID")),
		kgo.ConsumeTopics(os.Getenv("KAFKA_TOPIC")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(milliseconds("KAFKA_SESSION_TIMEOUT_MS")),
		kgo.HeartbeatInterval(milliseconds("KAFKA_HEARTBEAT_INTERVAL_MS")),
	)
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/metrics", metrics.Handler())
	go func() { log.Fatal(http.ListenAndServe(net.JoinHostPort(address, os.Getenv("METRICS_PORT")), nil)) }()
	told, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	for told.Err() == nil {
		client.PollRecords(told, 1).EachRecord(handle)
	}
	client.Close()
}
