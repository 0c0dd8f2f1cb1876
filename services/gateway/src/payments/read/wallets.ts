import type { EnvironmentType } from '@penstock/contracts/payments/shapes.ts'
import type { Views } from '@penstock/ports/views.ts'
import { invalidInput } from '../../errors.ts'
import { countTotal, type ListPage, type Page } from '../../list-page.ts'
import { type PaymentsCaller, seesWallet } from '../access.ts'
import { type PaymentsTables, withPaymentsTables } from '../views/tables.ts'

type Db = Pick<Views, 'db'>
export type WalletRow = PaymentsTables['gateway_wallets'] & { readonly environment_type: EnvironmentType }

/** A wallet is hidden if its environment is deleted, also if the wallet's row arrived after the deletion. */
const selectWallets = (views: Db) =>
  withPaymentsTables(views)
    .selectFrom('gateway_wallets as w')
    .innerJoin('gateway_environments as e', 'e.id', 'w.environment_id')
    .where('w.deleted', '=', 0)
    .where('e.deleted', '=', 0)

export async function findWallet(views: Db, id: string): Promise<WalletRow | undefined> {
  const row = await selectWallets(views)
    .selectAll('w')
    .select('e.type as environment_type')
    .where('w.id', '=', id)
    .executeTakeFirst()
  // The projection writes the types of the contract.
  return row && { ...row, environment_type: row.environment_type as EnvironmentType }
}

/** @throws the error for an unknown wallet, also if the caller does not see the wallet */
export async function requireWallet(views: Db, caller: PaymentsCaller, id: string): Promise<WalletRow> {
  const wallet = await findWallet(views, id)
  if (!wallet || !seesWallet(caller, wallet)) throw invalidInput('Wallet not found')
  return wallet
}

const selectVisibleWallets = (views: Db, { teamId, key }: PaymentsCaller, environmentId: string | undefined) =>
  selectWallets(views)
    .where('w.team_id', '=', teamId)
    .$if(environmentId !== undefined, (query) => query.where('w.environment_id', '=', environmentId ?? ''))
    .$if(key !== null, (query) => query.where('w.environment_id', '=', key?.environmentId ?? ''))
    .$if(key !== null && key.walletId !== null, (query) => query.where('w.id', '=', key?.walletId ?? ''))

/** Lists the wallets that the caller sees, newest first. @param environmentId undefined lists those of all environments */
export async function listWallets(
  views: Db,
  caller: PaymentsCaller,
  page: Page,
  environmentId: string | undefined,
): Promise<ListPage<PaymentsTables['gateway_wallets']>> {
  const wallets = selectVisibleWallets(views, caller, environmentId)
  const list = await wallets
    .selectAll('w')
    .orderBy('w.created_at', 'desc')
    .orderBy('w.id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const total = await countTotal(page, list.length, () =>
    wallets.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  return { total, list }
}

export type WalletSums = Pick<PaymentsTables['gateway_wallet_totals'], 'received' | 'sent' | 'fees'>

/** Reads the sums of a wallet's completed transactions. A wallet without transactions has no row. */
export async function readWalletSums(views: Db, walletId: string): Promise<WalletSums> {
  const row = await withPaymentsTables(views)
    .selectFrom('gateway_wallet_totals')
    .select(['received', 'sent', 'fees'])
    .where('wallet_id', '=', walletId)
    .executeTakeFirst()
  return row ?? { received: '0', sent: '0', fees: '0' }
}
