import { type Dashboard, perHour } from './panel.ts'

export const money: Dashboard = {
  uid: 'money',
  title: 'money and holds',
  panels: [
    {
      title: 'Blocks left',
      about: 'Of the hold that has the fewest: at 0 the guard settles or cancels it.',
      unit: 'short',
      queries: { blocks: 'min(penstock_hold_blocks_left_min)' },
    },
    {
      title: 'Holds by blocks left',
      about: 'Held payments that have at most so many blocks.',
      unit: 'short',
      queries: { 'at most {{le}}': 'max by (le) (penstock_holds_by_blocks_left)' },
    },
    {
      title: 'Holds',
      about: 'That are not settled or cancelled yet.',
      unit: 'short',
      queries: { '{{status}}': 'max by (status) (penstock_holds)' },
    },
    {
      title: 'Money on its way, in satoshis',
      about: 'Held: paid by buyers and nobody’s yet. Payable: owed to sellers.',
      unit: 'short',
      queries: { held: 'max(penstock_held_sat)', payable: 'max(penstock_payable_sat)' },
    },
    {
      title: 'Holds by the hour',
      about: 'What became of them.',
      unit: 'short',
      queries: {
        issued: perHour('settlement', 'HoldIssued'),
        held: perHour('settlement', 'HoldHeld'),
        settled: perHour('settlement', 'HoldSettled'),
        cancelled: perHour('settlement', 'HoldCancelled'),
        refused: perHour('settlement', 'HoldRefused'),
      },
    },
    {
      title: 'Unpaid sellers',
      about: 'By what their money waits for: confirmations, an invoice of theirs, the next try.',
      unit: 'short',
      queries: { '{{state}}': 'max by (state) (penstock_payables)' },
    },
    {
      title: 'Oldest unpaid share',
      about: 'Since its hold was settled.',
      unit: 's',
      queries: { '{{state}}': 'max by (state) (penstock_payable_oldest_seconds)' },
    },
    {
      title: 'Payouts by the hour',
      about: 'Failed ones are tried again, or wait for another invoice.',
      unit: 'short',
      queries: {
        paid: perHour('settlement', 'PayoutSucceeded'),
        failed: perHour('settlement', 'PayoutFailed'),
        withheld: perHour('settlement', 'PayoutWithheld'),
        incidents: perHour('settlement', 'IncidentNoted'),
      },
    },
    {
      title: 'Guard',
      about: 'Seconds since it last went through all holds and nothing failed: a block, or half a minute.',
      unit: 's',
      queries: { 'last round': 'time() - max(penstock_guard_last_round_timestamp_seconds)' },
    },
    {
      title: 'Orders that the guard cannot read, or do nothing about',
      about:
        'Unread: their figures are those of the last time; 0 unless the event store is away, or a stream is broken. Elsewhere: their money is at another node than the one that is connected.',
      unit: 'short',
      queries: { unread: 'max(penstock_holds_unread)', elsewhere: 'max(penstock_holds_elsewhere)' },
    },
    {
      title: 'Chain tip',
      about: 'Age of the newest block, and whether the node has all of them (1).',
      unit: 'short',
      queries: {
        'age in seconds': 'max(penstock_chain_tip_age_seconds)',
        synced: 'min(penstock_chain_synced)',
        height: 'max(penstock_chain_tip_height)',
      },
    },
    {
      title: 'Last audit',
      about:
        'Divergences, whether the ledgers add up (1), how long ago it was, and how long ago a gap in the log heads was noted.',
      unit: 'short',
      queries: {
        divergences: 'max(penstock_audit_divergences)',
        'ledgers add up': 'min(penstock_audit_ledger_balanced)',
        'hours ago': '(time() - max(penstock_audit_timestamp_seconds)) / 3600',
        'hours since a gap': '(time() - max(penstock_audit_gap_timestamp_seconds)) / 3600',
      },
    },
  ],
}
