import { type Dashboard, queryQuantile } from './panel.ts'

export const clusterDashboard: Dashboard = {
  uid: 'cluster',
  title: 'cluster servers',
  panels: [
    {
      title: 'Processes',
      about: '1: the process answers Prometheus. 0: it does not.',
      unit: 'short',
      kind: 'stat',
      limits: { when: 'below', bad: 1 },
      queries: { '{{instance}}': 'up{job=~".*penstock.*"}' },
    },
    {
      title: 'Messages published to Kafka',
      about:
        '`stored`: all in-sync replicas confirmed the message. `failed`: the brokers refused it or did not confirm it in time.',
      unit: 'ops',
      queries: { '{{topic}} {{outcome}}': 'sum by (topic, outcome) (rate(penstock_kafka_published_total[$__rate_interval]))' },
    },
    {
      title: 'Publishing, 99th percentile',
      about: 'Time from a publish to its confirmation by all in-sync replicas.',
      unit: 's',
      queries: { '{{topic}}': queryQuantile(0.99, 'penstock_kafka_publish_duration_seconds', 'topic') },
    },
    {
      title: 'Messages received from Kafka',
      about: 'Fetched messages, by consumer group.',
      unit: 'ops',
      queries: { '{{group}}': 'sum by (group) (rate(penstock_kafka_received_total[$__rate_interval]))' },
    },
    {
      title: 'Lag of consumer groups, in messages',
      about: "Messages after a group's committed offsets, as counted at the brokers.",
      unit: 'short',
      limits: { when: 'above', bad: 10_000 },
      queries: { '{{group}} {{topic}}': 'max by (group, topic) (penstock_kafka_behind_messages)' },
    },
    {
      title: 'Consumer groups without progress',
      about: "Time for which a group's offset has not moved in a partition in which messages wait.",
      unit: 's',
      limits: { when: 'above', warn: 60, bad: 300 },
      queries: { '{{group}} {{topic}}': 'max by (group, topic) (penstock_kafka_standing_seconds)' },
    },
    {
      title: 'Partitions',
      about: 'Partitions that are assigned to the members of a group. 0: the group has no member.',
      unit: 'short',
      limits: { when: 'below', bad: 1 },
      queries: { '{{group}} {{topic}}': 'sum by (group, topic) (penstock_kafka_partitions)' },
    },
    {
      title: 'Rebalances per hour',
      about:
        'Assignments of partitions, counted at each member of a group. A member that joins or leaves causes one assignment at each member.',
      unit: 'short',
      queries: { '{{group}}': 'sum by (group) (increase(penstock_kafka_assignments_total[1h]))' },
    },
    {
      title: 'Connections to PostgreSQL',
      about: 'Connections of all processes. `waiting` counts statements that wait for a connection.',
      unit: 'short',
      queries: { '{{purpose}} {{state}}': 'sum by (purpose, state) (penstock_postgres_connections)' },
    },
    {
      title: 'Observability itself',
      about: 'Spans by the outcome of their export, and failed reads of metrics.',
      unit: 'ops',
      queries: {
        'spans {{outcome}}': 'sum by (outcome) (rate(penstock_spans_exported_total[$__rate_interval]))',
        'failed metric reads': 'sum(rate(penstock_metrics_looks_failed_total[$__rate_interval]))',
      },
    },
  ],
}
