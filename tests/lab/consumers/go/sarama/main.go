// Sarama: a consumer group whose handler takes one message after another.
package main

import (
	"log"
	"time"

	"github.com/IBM/sarama"

	"heartbeat-tuner.dev/lab/lab"
)

type handler struct{}

func (handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			lab.Handle()
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func main() {
	config := sarama.NewConfig()
	config.ClientID = lab.Text("KAFKA_CLIENT_ID")
	config.Net.LocalAddr = lab.LocalAddr()
	config.Version = sarama.V3_6_0_0
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	lab.Set("KAFKA_SESSION_TIMEOUT", func(d time.Duration) { config.Consumer.Group.Session.Timeout = d })
	lab.Set("KAFKA_HEARTBEAT_INTERVAL", func(d time.Duration) { config.Consumer.Group.Heartbeat.Interval = d })
	lab.Set("KAFKA_FETCH_MAX_WAIT", func(d time.Duration) { config.Consumer.MaxWaitTime = d })
	lab.Set("KAFKA_REBALANCE_TIMEOUT", func(d time.Duration) { config.Consumer.Group.Rebalance.Timeout = d })
	group, err := sarama.NewConsumerGroup(lab.Brokers(), lab.Text("KAFKA_GROUP_ID"), config)
	if err != nil {
		log.Fatal(err)
	}
	told := lab.UntilTold()
	for told.Err() == nil {
		if err := group.Consume(told, []string{lab.Text("KAFKA_TOPIC")}, handler{}); err != nil {
			log.Print(err)
		}
	}
	if err := group.Close(); err != nil {
		log.Fatal(err)
	}
}
