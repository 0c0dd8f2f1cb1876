import { type Dashboard, queryQuantile } from './panel.ts'

export const servicesDashboard: Dashboard = {
  uid: 'services',
  title: 'services and lag',
  panels: [
    {
      title: 'Commands',
      about: 'Decided commands, by service and outcome. `repeated`: the command was handled before.',
      unit: 'ops',
      queries: {
        '{{component}} {{outcome}}': 'sum by (component, outcome) (rate(penstock_commands_handled_total[$__rate_interval]))',
      },
    },
    {
      title: 'Commands, 99th percentile',
      about: 'Time from the receipt of a command to its stored decision.',
      unit: 's',
      queries: { '{{component}}': queryQuantile(0.99, 'penstock_command_duration_seconds', 'component') },
    },
    {
      title: 'Consumer lag',
      about: 'Age of the oldest fact that a consumer has not handled.',
      unit: 's',
      limits: { when: 'above', warn: 10, bad: 60 },
      queries: { '{{consumer}} ← {{owner}}': 'max by (consumer, owner) (penstock_consumer_lag_seconds)' },
    },
    {
      title: 'Consumer lag, in facts',
      about: 'Facts that a consumer has not handled, counted up to 500.',
      unit: 'short',
      queries: { '{{consumer}} ← {{owner}}': 'max by (consumer, owner) (penstock_consumer_behind_facts)' },
    },
    {
      title: 'From fact to consumer, 99th percentile',
      about: 'Time from a fact to the end of its handling by a consumer.',
      unit: 's',
      queries: { '{{consumer}}': queryQuantile(0.99, 'penstock_fact_delay_seconds', 'consumer') },
    },
    {
      title: 'Facts consumed',
      about: 'Handled facts, by consumer.',
      unit: 'ops',
      queries: { '{{consumer}}': 'sum by (consumer) (rate(penstock_facts_consumed_total[$__rate_interval]))' },
    },
    {
      title: 'Relay lag, in facts',
      about: 'Facts that wait to be published, counted up to 500.',
      unit: 'short',
      queries: { '{{component}}': 'max by (component) (penstock_relay_behind_facts)' },
    },
    {
      title: 'Relay lag',
      about: 'Age of the oldest fact that waits to be published.',
      unit: 's',
      limits: { when: 'above', warn: 10, bad: 30 },
      queries: { '{{component}}': 'max by (component) (penstock_relay_lag_seconds)' },
    },
    {
      title: 'Facts published',
      about: 'Published facts, by the service that owns them.',
      unit: 'ops',
      queries: { '{{component}}': 'sum by (component) (rate(penstock_facts_relayed_total[$__rate_interval]))' },
    },
    {
      title: 'Relay leases',
      about: '1: one process has the lease of the relay. 0: no process publishes the facts of the service.',
      unit: 'short',
      kind: 'stat',
      limits: { when: 'below', bad: 1 },
      queries: { '{{component}}': 'sum by (component) (penstock_relay_held)' },
    },
    {
      title: 'Parked keys',
      about: 'Keys whose messages wait for a fix. After the fix, an operator hands the messages over again.',
      unit: 'short',
      limits: { when: 'above', bad: 1 },
      queries: { '{{group}} {{topic}}': 'max by (group, topic) (penstock_parked_keys)' },
    },
    {
      title: 'Messages that could not be handled, per hour',
      about: 'Parked messages, and tries of messages that wait for a newer version of the process.',
      unit: 'short',
      queries: {
        '{{consumer}}: parked': 'sum by (consumer) (increase(penstock_messages_parked_total[1h]))',
        '{{consumer}}: newer version': 'sum by (consumer) (increase(penstock_newer_messages_tries_total[1h]))',
      },
    },
    {
      title: 'Overdue deadlines',
      about: 'Deadlines that have passed and are not handled yet, counted up to 200.',
      unit: 'short',
      queries: { '{{component}}': 'max by (component) (penstock_timers_overdue)' },
    },
    {
      title: 'Oldest overdue deadline',
      about: 'Time since the oldest deadline that is overdue.',
      unit: 's',
      limits: { when: 'above', warn: 10, bad: 60 },
      queries: { '{{component}}': 'max by (component) (penstock_timers_overdue_oldest_seconds)' },
    },
    {
      title: 'Handled deadlines',
      about: 'Handled deadlines, by outcome. A failed deadline is retried.',
      unit: 'ops',
      queries: {
        '{{component}} {{outcome}}': 'sum by (component, outcome) (rate(penstock_timers_fired_total[$__rate_interval]))',
      },
    },
    {
      title: 'Unfinished streams',
      about: 'Streams whose process has not ended. The number grows only with the number of open orders.',
      unit: 'short',
      queries: { '{{component}}': 'max by (component) (penstock_unfinished_streams)' },
    },
    {
      title: 'Effects',
      about: 'Effects in progress, including effects that wait for their next try.',
      unit: 'short',
      queries: { '{{component}} {{effect}}': 'sum by (component, effect) (penstock_effects_running)' },
    },
    {
      title: 'Tries of effects',
      about: 'Tries of effects, by outcome. A failed effect is retried.',
      unit: 'ops',
      queries: { '{{effect}} {{outcome}}': 'sum by (effect, outcome) (rate(penstock_effect_tries_total[$__rate_interval]))' },
    },
    {
      title: 'Effects, 99th percentile',
      about: 'Duration of one try, which is the response time of the node or the chain.',
      unit: 's',
      queries: { '{{component}} {{effect}}': queryQuantile(0.99, 'penstock_effect_duration_seconds', 'component, effect') },
    },
    {
      title: 'Event store',
      about: 'Appends that conflicted with another append, and appends whose outcome was not known at first.',
      unit: 'ops',
      queries: {
        '{{component}}: conflicts': 'sum by (component) (rate(penstock_append_conflicts_total[$__rate_interval]))',
        '{{component}}: unknown': 'sum by (component) (rate(penstock_append_unknown_outcomes_total[$__rate_interval]))',
      },
    },
    {
      title: 'Processor',
      about: 'Processor use of each process. A process can use slightly more than one processor.',
      unit: 'percentunit',
      queries: { '{{instance}}': 'rate(process_cpu_seconds_total{job=~".*penstock.*"}[$__rate_interval])' },
    },
    {
      title: 'Memory',
      about: 'Resident memory of each process.',
      unit: 'bytes',
      queries: { '{{instance}}': 'process_resident_memory_bytes{job=~".*penstock.*"}' },
    },
    {
      title: 'Event loop lag, 99th percentile',
      about: 'Time for which work waits for its turn in a process.',
      unit: 's',
      limits: { when: 'above', warn: 0.1, bad: 0.5 },
      queries: { '{{instance}}': 'nodejs_eventloop_lag_p99_seconds{job=~".*penstock.*"}' },
    },
  ],
}
