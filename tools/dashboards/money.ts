import { type Dashboard, queryFactsPerHour } from './panel.ts'

export const moneyDashboard: Dashboard = {
  uid: 'money',
  title: 'money and holds',
  panels: [
    {
      title: 'Blocks left',
      about: 'Blocks until the last height of the hold that has the fewest. At 0 the guard settles or cancels this hold.',
      unit: 'short',
      kind: 'stat',
      limits: { when: 'below', warn: 13, bad: 1 },
      queries: { blocks: 'min(penstock_hold_blocks_left_min)' },
    },
    {
      title: 'Holds by blocks left',
      about: 'Held payments with at most this number of blocks left.',
      unit: 'short',
      queries: { 'at most {{at_most}}': 'max by (at_most) (penstock_holds_by_blocks_left)' },
    },
    {
      title: 'Holds',
      about: 'Holds that are not settled or cancelled yet, by status.',
      unit: 'short',
      queries: { '{{status}}': 'max by (status) (penstock_holds)' },
    },
    {
      title: 'Held and unpaid amounts, in satoshis',
      about: '`held`: payments of buyers that are not settled or cancelled. `payable`: unpaid payouts to sellers, or to buyers.',
      unit: 'short',
      queries: { held: 'max(penstock_held_sat)', payable: 'max(penstock_payable_sat)' },
    },
    {
      title: 'Holds per hour',
      about: 'Holds that were issued, held, settled, cancelled or refused.',
      unit: 'short',
      queries: {
        issued: queryFactsPerHour('settlement', 'HoldIssued'),
        held: queryFactsPerHour('settlement', 'HoldHeld'),
        settled: queryFactsPerHour('settlement', 'HoldSettled'),
        cancelled: queryFactsPerHour('settlement', 'HoldCancelled'),
        refused: queryFactsPerHour('settlement', 'HoldRefused'),
      },
    },
    {
      title: 'Unpaid payouts',
      about: 'Unpaid payouts by the reason for the wait, such as confirmations, an invoice or the next try.',
      unit: 'short',
      queries: { '{{state}}': 'max by (state) (penstock_payables)' },
    },
    {
      title: 'Oldest unpaid payout',
      about: 'Time since the hold of this payout ended, by the reason for the wait.',
      unit: 's',
      queries: { '{{state}}': 'max by (state) (penstock_payable_oldest_seconds)' },
    },
    {
      title: 'Payouts per hour',
      about: 'Payouts and incidents by outcome. A failed payout is retried, or waits for another invoice.',
      unit: 'short',
      queries: {
        paid: queryFactsPerHour('settlement', 'PayoutSucceeded'),
        failed: queryFactsPerHour('settlement', 'PayoutFailed'),
        withheld: queryFactsPerHour('settlement', 'PayoutWithheld'),
        incidents: queryFactsPerHour('settlement', 'IncidentRecorded'),
      },
    },
    {
      title: 'Guard',
      about:
        'Time since the last guard round in which nothing failed. A round runs at each block, and at least every half minute.',
      unit: 's',
      limits: { when: 'above', warn: 120, bad: 300 },
      queries: { 'last round': 'time() - max(penstock_guard_last_round_timestamp_seconds)' },
    },
    {
      title: 'Orders that the guard cannot read or process',
      about:
        '`unread`: the guard cannot read the stream, and shows values of an earlier round. The value is 0 unless the event store is unavailable or a stream is broken. `elsewhere`: the order needs another node than the connected one.',
      unit: 'short',
      kind: 'stat',
      limits: { when: 'above', bad: 1 },
      queries: { unread: 'max(penstock_holds_unread)', elsewhere: 'max(penstock_holds_elsewhere)' },
    },
    {
      title: 'Age of the newest block',
      about: 'An hour without a block occurs every few days. Two hours without a block are very rare.',
      unit: 's',
      limits: { when: 'above', warn: 3600, bad: 7200 },
      queries: { age: 'max(penstock_chain_tip_age_seconds)' },
    },
    {
      title: 'Chain',
      about: '1: the node has all blocks. 0: some blocks are missing.',
      unit: 'short',
      kind: 'stat',
      limits: { when: 'below', bad: 1 },
      queries: { synced: 'min(penstock_chain_synced)' },
    },
    {
      title: 'Height',
      about: 'Height of the newest block that the market knows.',
      unit: 'short',
      kind: 'stat',
      queries: { height: 'max(penstock_chain_tip_height)' },
    },
    {
      title: 'Divergences at the last audit',
      about: 'Facts, hashes or ledgers that differ from the expected ones.',
      unit: 'short',
      kind: 'stat',
      limits: { when: 'above', bad: 1 },
      queries: { divergences: 'max(penstock_audit_divergences)' },
    },
    {
      title: 'Ledgers at the last audit',
      about: '1: all ledgers add up. 0: a ledger does not add up.',
      unit: 'short',
      kind: 'stat',
      limits: { when: 'below', bad: 1 },
      queries: { 'ledgers add up': 'min(penstock_audit_ledger_balanced)' },
    },
    {
      title: 'Last audit',
      about: 'Time since the last audit, and time since the last recorded gap in the log heads.',
      unit: 's',
      kind: 'stat',
      queries: {
        'last audit': 'time() - max(penstock_audit_timestamp_seconds)',
        'last gap': 'time() - max(penstock_audit_gap_timestamp_seconds)',
      },
    },
  ],
}
