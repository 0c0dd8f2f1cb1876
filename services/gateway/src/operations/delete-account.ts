import { account, emailClaim } from '@penstock/contracts/accounts.ts'
import { offer } from '@penstock/contracts/matching.ts'
import { ask } from '@penstock/runtime/service.ts'
import { type Caller, dashboardUser } from '../callers.ts'
import { accepted } from '../commands/answers.ts'
import { invalid } from '../errors.ts'
import type { Gateway } from '../ports.ts'
import { accountById } from '../read/accounts.ts'
import { openBusinessOf } from '../read/account-orders.ts'
import { enabledOffersOf } from '../read/offers.ts'
import { eraseAccount } from './erase.ts'
import { answerBy } from './offers.ts'
import { verifiedRecord } from './passwords.ts'

export type DeleteAccountInput = { readonly password: string }

const OPEN = {
  order: 'An order of this account is open. Cancel it or wait for its end, then delete the account.',
  payout: 'Money is owed to this account. Give an invoice for it and wait until it is paid, then delete the account.',
} as const

/**
 * Takes the account's offers off the market, ends everything that opens the account, and deletes its texts. Its facts stay
 * under its id. The e-mail address and the nodes are free for another account.
 */
export async function deleteAccount(gateway: Gateway, caller: Caller | null, ip: string, input: DeleteAccountInput) {
  const { accountId } = dashboardUser(caller)
  const { views, commands } = gateway
  const passwordRecord = await verifiedRecord(gateway, accountId, ip, input.password)
  const emailHash = (await accountById(views, accountId))?.email_hash
  if (!emailHash) throw invalid('Only an account with an e-mail address can be deleted.')
  await mustBeAtRest(gateway, accountId)
  for (const offerId of await enabledOffersOf(views, accountId))
    accepted(await commands.ask(ask(offer, offerId, 'ToggleOffer', { by: accountId }), { until: answerBy(gateway) }))
  // Without offers nothing new can be sold; what was sold meanwhile is seen here.
  await mustBeAtRest(gateway, accountId)
  const end = ask(account, accountId, 'DeleteAccount', { emailHash, passwordRecord })
  accepted(await commands.ask(end, { until: answerBy(gateway) }))
  // An order that was asked for meanwhile shows here, or the one who placed it sees the deletion.
  await eraseAccount(gateway, accountId)
  // The accounts service does it too; here it is waited for, so that whoever has the answer can sign up again.
  await commands.ask(ask(emailClaim, emailHash, 'ReleaseEmail', { accountId }), { until: answerBy(gateway) })
  return { id: accountId, success: true }
}

async function mustBeAtRest({ views }: Gateway, accountId: string): Promise<void> {
  const open = await openBusinessOf(views, accountId)
  if (open) throw invalid(OPEN[open])
}
