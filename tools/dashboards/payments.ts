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
  ],
}
