module heartbeat-tuner.dev/lab-confluent

go 1.26.0

require (
	github.com/confluentinc/confluent-kafka-go/v2 v2.15.0
	heartbeat-tuner.dev/lab v0.0.0
)

replace heartbeat-tuner.dev/lab => ../go
