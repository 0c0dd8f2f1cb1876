import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import { freeCoins, freeForgotten, openingsOf } from './coin-locks.ts'
import type { Connection } from './connection.ts'

type Release = (request: { readonly outpoint: { readonly txid_str?: string } }, done: (error: object | null) => void) => void

test('one coin that cannot be freed does not keep the others', async () => {
  const tried: string[] = []
  const releaseOutput: Release = (request, done) => {
    tried.push(JSON.stringify(request))
    done(tried.length === 1 ? { code: 2, details: 'not by this name' } : null)
  }
  const lnd = { wallet: { releaseOutput } } as unknown as AuthenticatedLnd // the one call that is made
  const node = { ask: (work: (lnd: AuthenticatedLnd) => Promise<unknown>) => work(lnd) } as Connection // the one part that is used
  const coins = ['aa', 'bb'].map((byte) => ({ id: '11'.repeat(32), transaction_id: byte.repeat(32), transaction_vout: 0 }))
  await expect(freeCoins(node, coins)).rejects.toBeDefined()
  expect(tried).toHaveLength(2)
})

type Listed = { readonly funding: string; readonly memo: string }

/** A node with locked coins, by the names of their locks, and fundings that wait. @returns the names that are freed */
async function freed(locks: readonly string[], pending: readonly Listed[]): Promise<readonly string[]> {
  const names: string[] = []
  const says =
    (answer: object) =>
    (_: object, done: (error: object | null, answer: object) => void): void =>
      done(null, answer)
  const lnd = {
    default: {
      pendingChannels: says({
        pending_force_closing_channels: [],
        waiting_close_channels: [],
        pending_open_channels: pending.map(waits),
      }),
      listChannels: says({ channels: [] }),
    },
    wallet: {
      listLeases: says({
        locked_utxos: locks.map((name, index) => ({
          id: Buffer.from(name, 'hex'),
          expiration: '1',
          pk_script: Buffer.alloc(0),
          outpoint: { txid_str: 'aa'.repeat(32), output_index: index },
        })),
      }),
      releaseOutput: ({ id }: { readonly id: Buffer }, done: (error: null) => void) => {
        names.push(id.toString('hex'))
        done(null)
      },
    },
  } as unknown as AuthenticatedLnd // the calls that are made
  const node = { ask: (work: (lnd: AuthenticatedLnd) => Promise<unknown>) => work(lnd) } as Connection // the one part that is used
  await freeForgotten(node, openingsOf())
  return names
}

/** As lnd lists it. */
const waits = ({ funding, memo }: Listed) => ({
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

test('what belongs to a channel that waits stays locked, by its note or by the name that was given before there were notes', async () => {
  const tag = Buffer.from('penstock').toString('hex')
  const [noted, old, forgotten] = ['11', '22', '33'].map((byte) => tag + byte.repeat(24)) as [string, string, string]
  const channels = [
    { funding: 'ab'.repeat(32), memo: `penstock ${'11'.repeat(24)}` },
    { funding: '22'.repeat(32), memo: '' },
  ]
  expect(await freed([noted, old, forgotten], channels)).toEqual([forgotten])
  expect(await freed([noted, old], [])).toEqual([noted, old])
})
