import { type Dashboard, quantile } from './panel.ts'

export const services: Dashboard = {
  uid: 'services',
  title: 'services and lag',
  panels: [
    {
      title: 'Commands',
      about: 'Decided, by service and outcome; `repeated` ones were handled before.',
      unit: 'ops',
      queries: { '{{component}} {{outcome}}': 'sum by (component, outcome) (rate(penstock_commands_handled_total[5m]))' },
    },
    {
      title: 'Commands, 99th percentile',
      about: 'From taking one up to its decision on disk.',
      unit: 's',
      queries: { '{{component}}': quantile(0.99, 'penstock_command_duration_seconds', 'component') },
    },
    {
      title: 'Consumers’ lag',
      about: 'Age of the oldest fact that a consumer has not dealt with.',
      unit: 's',
      queries: { '{{consumer}} ← {{owner}}': 'max by (consumer, owner) (penstock_consumer_lag_seconds)' },
    },
    {
      title: 'Facts before the consumers',
      about: 'Counted up to 500.',
      unit: 'short',
      queries: { '{{consumer}} ← {{owner}}': 'max by (consumer, owner) (penstock_consumer_behind_facts)' },
    },
    {
      title: 'From fact to consumer, 99th percentile',
      about: 'From the time of a fact to the end of its handling.',
      unit: 's',
      queries: { '{{consumer}}': quantile(0.99, 'penstock_fact_delay_seconds', 'consumer') },
    },
    {
      title: 'Facts consumed',
      about: 'By consumer.',
      unit: 'ops',
      queries: { '{{consumer}}': 'sum by (consumer) (rate(penstock_facts_consumed_total[5m]))' },
    },
    {
      title: 'Relays',
      about: 'Facts that wait to be published, how long the oldest has waited, and how many are published.',
      unit: 'short',
      queries: {
        '{{component}}: waiting': 'max by (component) (penstock_relay_behind_facts)',
        '{{component}}: seconds': 'max by (component) (penstock_relay_lag_seconds)',
        '{{component}}: a second': 'sum by (component) (rate(penstock_facts_relayed_total[5m]))',
      },
    },
    {
      title: 'Holders of the relays',
      about: 'One for each service; 0: nobody publishes its facts.',
      unit: 'short',
      queries: { '{{component}}': 'sum by (component) (penstock_relay_held)' },
    },
    {
      title: 'Parked keys',
      about: 'Keys that wait for a fix, how many messages could not be handled, and what waits for a newer version.',
      unit: 'short',
      queries: {
        '{{group}} {{topic}}': 'max by (group, topic) (penstock_parked_keys)',
        '{{consumer}}: by the hour': 'sum by (consumer) (increase(penstock_messages_parked_total[1h]))',
        '{{consumer}}: tries at newer messages': 'sum by (consumer) (increase(penstock_newer_messages_tries_total[5m]))',
      },
    },
    {
      title: 'Deadlines',
      about: 'Overdue, how long the oldest is, and how many are carried out.',
      unit: 'short',
      queries: {
        '{{component}}: overdue': 'max by (component) (penstock_timers_overdue)',
        '{{component}}: seconds': 'max by (component) (penstock_timers_overdue_oldest_seconds)',
        '{{component}}: {{outcome}} a second': 'sum by (component, outcome) (rate(penstock_timers_fired_total[5m]))',
      },
    },
    {
      title: 'Unfinished streams',
      about: 'What still asks for something; it grows with the open orders, and with nothing else.',
      unit: 'short',
      queries: { '{{component}}': 'max by (component) (penstock_unfinished_streams)' },
    },
    {
      title: 'Effects',
      about: 'Under way, those that wait for their next try included.',
      unit: 'short',
      queries: { '{{component}} {{effect}}': 'sum by (component, effect) (penstock_effects_running)' },
    },
    {
      title: 'Tries of effects',
      about: 'By outcome: what fails is tried again.',
      unit: 'ops',
      queries: { '{{effect}} {{outcome}}': 'sum by (effect, outcome) (rate(penstock_effect_tries_total[5m]))' },
    },
    {
      title: 'Effects, 99th percentile',
      about: 'One try: how long the node or the chain took.',
      unit: 's',
      queries: { '{{component}} {{effect}}': quantile(0.99, 'penstock_effect_duration_seconds', 'component, effect') },
    },
    {
      title: 'Event store',
      about: 'Appends that met others, and appends whose outcome was not known at first.',
      unit: 'ops',
      queries: {
        '{{component}}: conflicts': 'sum by (component) (rate(penstock_append_conflicts_total[5m]))',
        '{{component}}: unknown': 'sum by (component) (rate(penstock_append_unknown_outcomes_total[5m]))',
      },
    },
    {
      title: 'Processor',
      about: 'Of each process; one can use one and a little more.',
      unit: 'percentunit',
      queries: { '{{instance}}': 'rate(process_cpu_seconds_total{job=~".*penstock.*"}[5m])' },
    },
    {
      title: 'Memory',
      about: 'Resident, of each process.',
      unit: 'bytes',
      queries: { '{{instance}}': 'process_resident_memory_bytes{job=~".*penstock.*"}' },
    },
    {
      title: 'Event loop, 99th percentile of its lag',
      about: 'How long work waits for its turn in a process.',
      unit: 's',
      queries: { '{{instance}}': 'nodejs_eventloop_lag_p99_seconds{job=~".*penstock.*"}' },
    },
  ],
}
