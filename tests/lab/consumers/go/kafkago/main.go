// kafka-go: read a message, handle it.
package main

import (
	"log"
	"time"

	"github.com/segmentio/kafka-go"

	"heartbeat-tuner.dev/lab/lab"
)

func main() {
	config := kafka.ReaderConfig{
		Brokers:     lab.Brokers(),
		GroupID:     lab.Text("KAFKA_GROUP_ID"),
		Topic:       lab.Text("KAFKA_TOPIC"),
		StartOffset: kafka.FirstOffset,
		Dialer: &kafka.Dialer{
			ClientID:  lab.Text("KAFKA_CLIENT_ID"),
			LocalAddr: lab.LocalAddr(),
			Timeout:   10 * time.Second,
			DualStack: true,
		},
	}
	lab.Set("KAFKA_SESSION_TIMEOUT", func(d time.Duration) { config.SessionTimeout = d })
	lab.Set("KAFKA_HEARTBEAT_INTERVAL", func(d time.Duration) { config.HeartbeatInterval = d })
	lab.Set("KAFKA_FETCH_MAX_WAIT", func(d time.Duration) { config.MaxWait = d })
	lab.Set("KAFKA_REBALANCE_TIMEOUT", func(d time.Duration) { config.RebalanceTimeout = d })
	reader := kafka.NewReader(config)
	for told := lab.UntilTold(); ; {
		if _, err := reader.ReadMessage(told); err != nil {
			if told.Err() != nil {
				break
			}
			log.Print(err)
			continue
		}
		lab.Handle()
	}
	if err := reader.Close(); err != nil {
		log.Fatal(err)
	}
}
