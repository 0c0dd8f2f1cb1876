import { type Dashboard, queryFactsPerHour } from './panel.ts'

export const paymentsDashboard: Dashboard = {
  uid: 'payments',
  title: 'payments',
  panels: [
    {
      title: 'Receives per hour',
      about: 'Invoices that wallets issued, by outcome.',
      unit: 'short',
      queries: {
        requested: queryFactsPerHour('receive', 'ReceiveRequested'),
        completed: queryFactsPerHour('receive', 'ReceiveCompleted'),
        failed: queryFactsPerHour('receive', 'ReceiveFailed'),
        expired: queryFactsPerHour('receive', 'ReceiveExpired'),
      },
    },
    {
      title: 'Sends per hour',
      about: 'Payments out of wallets, by outcome. `duplicate`: another send of the wallet has the same payment hash.',
      unit: 'short',
      queries: {
        requested: queryFactsPerHour('send', 'SendRequested'),
        completed: queryFactsPerHour('send', 'SendCompleted'),
        failed: queryFactsPerHour('send', 'SendFailed'),
        expired: queryFactsPerHour('send', 'SendExpired'),
        duplicate: queryFactsPerHour('send', 'HashTaken'),
      },
    },
    {
      title: 'Pending transactions',
      about: 'Transactions without a final status, by direction.',
      unit: 'short',
      queries: { '{{direction}}': 'max by (direction) (penstock_transactions_open)' },
    },
    {
      title: 'Oldest overdue transaction',
      about: 'Time since the end of the pending transaction that is overdue longest, by direction.',
      unit: 's',
      limits: { when: 'above', warn: 10, bad: 60 },
      queries: { '{{direction}}': 'max by (direction) (penstock_transactions_overdue_oldest_seconds)' },
    },
    {
      title: 'Webhook attempts per second',
      about:
        'Attempts to deliver a webhook. `repeated`: another attempt may follow. `refused`: the answer ended the delivery. `postponed`: the service could not make the request.',
      unit: 'ops',
      queries: { '{{outcome}}': 'sum by (outcome) (rate(penstock_webhook_attempts_total[5m]))' },
    },
    {
      title: 'Webhooks due and in progress',
      about: 'Deliveries that are due at active endpoints, and attempts that wait for an answer.',
      unit: 'short',
      queries: {
        due: 'max(penstock_webhook_deliveries_due)',
        'in progress': 'max(penstock_webhook_attempts_in_progress)',
      },
    },
    {
      title: 'Oldest due webhook',
      about: 'Time for which a delivery at an active endpoint has been due, at most.',
      unit: 's',
      limits: { when: 'above', warn: 10, bad: 60 },
      queries: { oldest: 'max(penstock_webhook_delivery_due_oldest_seconds)' },
    },
  ],
}
