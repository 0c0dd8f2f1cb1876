import { serialiseTransaction, transactionId } from '@penstock/bitcoin/transaction.ts'
import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import type { LndConnection } from '../connection.ts'
import { createOpeningTracker } from './utxo-locks.ts'
import { abandonChannel, bumpFundingFee } from './funding.ts'
import { toLndFault } from '../rpc-errors.ts'

type Call = (request: object, done: (error: object | null, answer?: object) => void) => void
const answersWith =
  (answer: object): Call =>
  (_, done) =>
    done(null, answer)
const fails =
  (details: string): Call =>
  (_, done) =>
    done({ code: 2, details })

const CHANGE_SAT = 40_000_000n
const funding = {
  inputs: [{ txid: 'aa'.repeat(32), vout: 0 }],
  outputs: [
    { valueSat: 1_000_000n, script: `0020${'bb'.repeat(32)}` },
    { valueSat: CHANGE_SAT, script: `5120${'cc'.repeat(32)}` },
  ],
}
const txid = transactionId(funding)
const outpoint = `${txid}:0`

const constraints = {
  chan_reserve_sat: '10000',
  csv_delay: 144,
  dust_limit_sat: '354',
  max_accepted_htlcs: 483,
  max_pending_amt_msat: '1',
  min_htlc_msat: '1',
}
const open = {
  active: false,
  alias_scids: [],
  capacity: '1000000',
  chan_id: '1099511693312',
  channel_point: outpoint,
  commit_fee: '0',
  commit_weight: '0',
  commitment_type: 'ANCHORS',
  fee_per_kw: '0',
  initiator: true,
  local_balance: '0',
  local_chan_reserve_sat: '10000',
  local_constraints: constraints,
  num_updates: '0',
  pending_htlcs: [],
  private: false,
  remote_balance: '0',
  remote_chan_reserve_sat: '10000',
  remote_constraints: constraints,
  remote_pubkey: `02${'11'.repeat(32)}`,
  thaw_height: 0,
  total_satoshis_received: '0',
  total_satoshis_sent: '0',
  unsettled_balance: '0',
}

/** A node with only the given calls. */
function node(wallet: Readonly<Record<string, Call>>, channels: readonly object[] = []): LndConnection {
  const pendingChannels = answersWith({
    pending_force_closing_channels: [],
    pending_open_channels: [],
    waiting_close_channels: [],
  })
  const lnd = { default: { pendingChannels, listChannels: answersWith({ channels }) }, wallet } as unknown as AuthenticatedLnd
  return {
    clock: stillClock,
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(toLndFault(error))),
  }
}

test('a channel in a block is not abandoned, even if the wallet has forgotten its funding', async () => {
  const lnd = node({ getTransaction: fails('transaction not found') }, [open])
  expect(await abandonChannel(lnd, createOpeningTracker(), outpoint)).toBe('published')
})

test.each([
  // 165 virtual bytes of the funding and 122 of its child, minus the fee that is already paid.
  ['the highest rate for both transactions', 50, 50 * (165 + 122) - 500],
  ['half of the change', 1_000_000, Number(CHANGE_SAT / 2n)],
])('the fee of a child transaction is at most %s', async (_, maxRate, budget) => {
  const bumps: unknown[] = []
  const bumping = node({
    getTransaction: answersWith({
      amount: '0',
      block_hash: '',
      block_height: 0,
      dest_addresses: [],
      num_confirmations: 0,
      previous_outpoints: [],
      raw_tx_hex: serialiseTransaction(funding),
      time_stamp: '1',
      total_fees: '500',
      tx_hash: txid,
    }),
    bumpFee: (request, done) => {
      bumps.push(request)
      done(null, {})
    },
  })
  await bumpFundingFee(bumping, outpoint, 9.5, maxRate)
  const change = { txid_str: txid, output_index: 1 }
  expect(bumps).toEqual([{ outpoint: change, sat_per_vbyte: 10, immediate: true, budget }])
})
