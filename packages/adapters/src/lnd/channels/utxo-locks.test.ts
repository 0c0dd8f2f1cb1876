import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import { releaseLocks, releaseOrphanedLocks, createOpeningTracker } from './utxo-locks.ts'
import type { LndConnection } from '../connection.ts'

type Release = (request: { readonly outpoint: { readonly txid_str?: string } }, done: (error: object | null) => void) => void

test('a coin that cannot be released does not prevent the release of the others', async () => {
  const tried: string[] = []
  const releaseOutput: Release = (request, done) => {
    tried.push(JSON.stringify(request))
    done(tried.length === 1 ? { code: 2, details: 'wrong lock id' } : null)
  }
  const lnd = { wallet: { releaseOutput } } as unknown as AuthenticatedLnd // the one call that is made
  const node = { ask: (work: (lnd: AuthenticatedLnd) => Promise<unknown>) => work(lnd) } as LndConnection // the one part that is used
  const coins = ['aa', 'bb'].map((byte) => ({ id: '11'.repeat(32), transaction_id: byte.repeat(32), transaction_vout: 0 }))
  await expect(releaseLocks(node, coins)).rejects.toBeDefined()
  expect(tried).toHaveLength(2)
})

type Listed = { readonly funding: string; readonly memo: string }

/** Releases orphaned locks of a node with the given locks and pending fundings. @returns the ids of the released locks */
async function releasedOf(locks: readonly string[], pending: readonly Listed[]): Promise<readonly string[]> {
  const ids: string[] = []
  const answersWith =
    (answer: object) =>
    (_: object, done: (error: object | null, answer: object) => void): void =>
      done(null, answer)
  const lnd = {
    default: {
      pendingChannels: answersWith({
        pending_force_closing_channels: [],
        waiting_close_channels: [],
        pending_open_channels: pending.map(toPending),
      }),
      listChannels: answersWith({ channels: [] }),
    },
    wallet: {
      listLeases: answersWith({
        locked_utxos: locks.map((name, index) => ({
          id: Buffer.from(name, 'hex'),
          expiration: '1',
          pk_script: Buffer.alloc(0),
          outpoint: { txid_str: 'aa'.repeat(32), output_index: index },
        })),
      }),
      releaseOutput: ({ id }: { readonly id: Buffer }, done: (error: null) => void) => {
        ids.push(id.toString('hex'))
        done(null)
      },
    },
  } as unknown as AuthenticatedLnd // the calls that are made
  const node = { ask: (work: (lnd: AuthenticatedLnd) => Promise<unknown>) => work(lnd) } as LndConnection // the one part that is used
  await releaseOrphanedLocks(node, createOpeningTracker())
  return ids
}

/** A pending channel in the format of lnd. */
const toPending = ({ funding, memo }: Listed) => ({
  channel: {
    capacity: '1',
    channel_point: `${funding}:0`,
    commitment_type: 'ANCHORS',
    initiator: 'INITIATOR_LOCAL',
    local_balance: '1',
    local_chan_reserve_sat: '1',
    memo,
    private: false,
    remote_balance: '0',
    remote_chan_reserve_sat: '1',
    remote_node_pub: `02${'11'.repeat(32)}`,
  },
  commit_fee: '1',
  commit_weight: '1',
  fee_per_kw: '1',
})

test('coins stay locked if a pending channel has the memo or the legacy lock id of their lock', async () => {
  const tag = Buffer.from('penstock').toString('hex')
  const [withMemo, legacy, orphaned] = ['11', '22', '33'].map((byte) => tag + byte.repeat(24)) as [string, string, string]
  const channels = [
    { funding: 'ab'.repeat(32), memo: `penstock ${'11'.repeat(24)}` },
    { funding: '22'.repeat(32), memo: '' },
  ]
  expect(await releasedOf([withMemo, legacy, orphaned], channels)).toEqual([orphaned])
  expect(await releasedOf([withMemo, legacy], [])).toEqual([withMemo, legacy])
})
