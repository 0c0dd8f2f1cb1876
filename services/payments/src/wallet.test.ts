import { btcAsset } from '@penstock/contracts/payments/assets.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { given } from '@penstock/testkit/given.ts'
import { test } from 'vitest'
import { walletDecider } from './wallet.ts'

const wallet = {
  environmentId: uuidFor(1),
  environmentType: 'SANDBOX' as const,
  teamId: uuidFor(2),
  assetId: btcAsset.id,
  nameRecord: uuidFor(3),
}
const create = { type: 'CreateWallet', data: wallet } as const
const created = { type: 'WalletCreated', v: 1, data: wallet } as const
const remove = { type: 'DeleteWallet', data: {} } as const
const deleted = { type: 'WalletDeleted', v: 1, data: {} } as const

test('a wallet is created once, and deleted once', () => {
  given(walletDecider).when(create).then(created)
  given(walletDecider, created).when(create).then()
  given(walletDecider, created).when(remove).then(deleted)
  given(walletDecider, created, deleted).when(remove).then()
})

test('a deleted wallet is not created again', () => {
  given(walletDecider, created, deleted).when(create).then()
})

test('an unknown wallet cannot be deleted', () => {
  given(walletDecider).when(remove).refuses('NOT_FOUND')
})

test('a wallet of a live environment is refused', () => {
  given(walletDecider)
    .when({ type: 'CreateWallet', data: { ...wallet, environmentType: 'LIVE' } })
    .refuses('LIVE_NOT_SERVED')
})
