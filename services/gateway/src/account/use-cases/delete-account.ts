import { command } from '@penstock/kernel/process.ts'
import type { AccountTarget, EmailClaimTarget } from '@penstock/contracts/accounts.ts'
import type { OfferTarget } from '@penstock/contracts/matching.ts'
import { dashboardUser } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import { eraseAccount } from '../erase.ts'
import type { Gateway } from '../../ports.ts'
import { findDeletionObstacle } from '../../market/read/account-orders.ts'
import { findAccount } from '../read/accounts.ts'
import { listEnabledOfferIds } from '../../market/read/offers.ts'
import { dashboardLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import { verifyAccountPassword } from './passwords.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import type { AccountMutationsDeleteArgs } from '../../generated/schema-types.ts'

const OPEN_BUSINESS_MESSAGES = {
  order: 'An order of this account is open. Cancel it or wait for its end, then delete the account.',
  payout: 'Money is owed to this account. Give an invoice for it and wait until it is paid, then delete the account.',
  loss: 'It is not decided yet whether money is owed to this account. Wait for the decision, then delete the account.',
} as const

/**
 * Disables the account's offers, revokes its credentials, and deletes its texts. Its facts remain. Another account can use
 * its e-mail address and its nodes.
 */
export const deleteAccount = mutation({
  path: 'account.delete',
  limit: dashboardLimit,
  access: dashboardUser,
  input: ({ input }: AccountMutationsDeleteArgs) => input.password,
  run: async (password, { gateway, caller: { accountId }, ip }) => {
    const { views, commands } = gateway
    const passwordRecord = await verifyAccountPassword(gateway, accountId, ip, password)
    const emailHash = (await findAccount(views, accountId))?.email_hash
    if (!emailHash) throw invalidInput('Only an account with an e-mail address can be deleted.')
    await assertNoOpenBusiness(gateway, accountId)
    for (const offerId of await listEnabledOfferIds(views, accountId))
      await sendCommand(gateway, command<OfferTarget>('offer', offerId, { type: 'ToggleOffer', data: { by: accountId } }))
    // Disabled offers get no new orders, so this second check finds every order that began after the first check.
    await assertNoOpenBusiness(gateway, accountId)
    await sendCommand(
      gateway,
      command<AccountTarget>('account', accountId, { type: 'DeleteAccount', data: { emailHash, passwordRecord } }),
    )
    // Either this finds an order that was requested during the deletion, or `placeOrder` finds the deletion.
    await eraseAccount(gateway, accountId)
    // The accounts service also releases the address. The repeated command is awaited, so that a new sign-up succeeds at once.
    await commands.sendAndWait(command<EmailClaimTarget>('email', emailHash, { type: 'ReleaseEmail', data: { accountId } }), {
      until: getAnswerDeadline(gateway),
    })
    return { id: accountId, success: true }
  },
})

async function assertNoOpenBusiness({ views }: Gateway, accountId: string): Promise<void> {
  const open = await findDeletionObstacle(views, accountId)
  if (open) throw invalidInput(OPEN_BUSINESS_MESSAGES[open])
}
