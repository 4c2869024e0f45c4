// franz-go: poll and handle.
package main

import (
	"log"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"heartbeat-tuner.dev/lab/lab"
)

func main() {
	options := []kgo.Opt{
		kgo.SeedBrokers(lab.Brokers()...),
		kgo.ClientID(lab.Text("KAFKA_CLIENT_ID")),
		kgo.ConsumerGroup(lab.Text("KAFKA_GROUP_ID")),
		kgo.ConsumeTopics(lab.Text("KAFKA_TOPIC")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
	lab.Set("KAFKA_SESSION_TIMEOUT", func(d time.Duration) { options = append(options, kgo.SessionTimeout(d)) })
	lab.Set("KAFKA_HEARTBEAT_INTERVAL", func(d time.Duration) { options = append(options, kgo.HeartbeatInterval(d)) })
	lab.Set("KAFKA_FETCH_MAX_WAIT", func(d time.Duration) { options = append(options, kgo.FetchMaxWait(d)) })
	lab.Set("KAFKA_REBALANCE_TIMEOUT", func(d time.Duration) { options = append(options, kgo.RebalanceTimeout(d)) })
	if local := lab.LocalAddr(); local != nil {
		dialer := net.Dialer{LocalAddr: local, Timeout: 10 * time.Second}
		options = append(options, kgo.Dialer(dialer.DialContext))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		log.Fatal(err)
	}
	for told := lab.UntilTold(); told.Err() == nil; {
		client.PollFetches(told).EachRecord(func(*kgo.Record) { lab.Handle() })
	}
	client.Close()
}
