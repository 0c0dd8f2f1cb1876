import { type Dashboard, quantile } from './panel.ts'

export const cluster: Dashboard = {
  uid: 'cluster',
  title: 'cluster servers',
  panels: [
    {
      title: 'Processes',
      about: '1: it answers Prometheus.',
      unit: 'short',
      queries: { '{{instance}}': 'up{job=~".*penstock.*"}' },
    },
    {
      title: 'Messages published to Kafka',
      about: 'Stored by all replicas in sync, or not confirmed in time.',
      unit: 'ops',
      queries: { '{{topic}} {{outcome}}': 'sum by (topic, outcome) (rate(penstock_kafka_published_total[5m]))' },
    },
    {
      title: 'Publishing, 99th percentile',
      about: 'To the confirmation by all replicas in sync.',
      unit: 's',
      queries: { '{{topic}}': quantile(0.99, 'penstock_kafka_publish_duration_seconds', 'topic') },
    },
    {
      title: 'Messages received from Kafka',
      about: 'By consumer group.',
      unit: 'ops',
      queries: { '{{group}}': 'sum by (group) (rate(penstock_kafka_received_total[5m]))' },
    },
    {
      title: 'Messages before the consumers',
      about: 'Not dealt with, by the brokers.',
      unit: 'short',
      queries: { '{{group}}': 'max by (group, topic) (penstock_kafka_behind_messages)' },
    },
    {
      title: 'Groups that stand still',
      about: 'How long a group has been at the same place of a partition in which messages wait.',
      unit: 's',
      queries: { '{{group}}': 'max by (group, topic) (penstock_kafka_standing_seconds)' },
    },
    {
      title: 'Partitions',
      about: 'That the members of a group have between them.',
      unit: 'short',
      queries: { '{{group}}': 'sum by (group, topic) (penstock_kafka_partitions)' },
    },
    {
      title: 'Rebalances by the hour',
      about: 'How often the partitions of a group were divided anew; a member that comes or goes is one for each.',
      unit: 'short',
      queries: { '{{group}}': 'sum by (group) (increase(penstock_kafka_assignments_total[1h]))' },
    },
    {
      title: 'Connections to PostgreSQL',
      about: 'Of all processes; `waiting` are statements that want one.',
      unit: 'short',
      queries: { '{{purpose}} {{state}}': 'sum by (purpose, state) (penstock_postgres_connections)' },
    },
    {
      title: 'Observability itself',
      about: 'Spans that were sent or not, and figures that could not be looked up.',
      unit: 'ops',
      queries: {
        'spans {{outcome}}': 'sum by (outcome) (rate(penstock_spans_exported_total[5m]))',
        'figures missing': 'sum(rate(penstock_metrics_looks_failed_total[5m]))',
      },
    },
  ],
}
