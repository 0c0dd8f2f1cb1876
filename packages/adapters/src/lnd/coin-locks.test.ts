import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import { freeCoins } from './coin-locks.ts'
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
