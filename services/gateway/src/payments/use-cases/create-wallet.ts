import { command } from '@penstock/kernel/process.ts'
import { findAsset } from '@penstock/contracts/payments/assets.ts'
import type { EnvironmentType } from '@penstock/contracts/payments/shapes.ts'
import type { WalletTarget } from '@penstock/contracts/payments/wallet.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import { requireInTime } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import type { WalletMutationsCreateArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { parseNameField } from '../input.ts'
import { requireOwnEnvironment } from '../read/environments.ts'
import { findWallet } from '../read/wallets.ts'
import { toWalletRecord } from '../records/wallet-record.ts'
import { sendNamedCommand } from './named-command.ts'

function parseWallet({ input }: WalletMutationsCreateArgs) {
  const name = parseNameField(input.name)
  const environmentId = parseId(input.environment_id)
  const asset = findAsset(input.asset_id)
  if (!asset) throw invalidInput('asset_id must be the id of an asset of public.assets.supported')
  return { name, environmentId, assetId: asset.id }
}

export const createWallet = mutation({
  path: 'payment.wallet.create',
  limit: paymentsLimit,
  access: permitted('WALLETS', 'WRITE'),
  input: parseWallet,
  run: async ({ name, environmentId, assetId }, { gateway, caller }) => {
    requireUnscoped(caller)
    const environment = await requireOwnEnvironment(gateway.views, caller, environmentId)
    const { team_id: teamId, type } = environment
    // The projection writes the types of the contract.
    const environmentType = type as EnvironmentType
    const walletId = gateway.ids.uuid()
    await sendNamedCommand(gateway, name, getAnswerDeadline(gateway), (nameRecord) =>
      command<WalletTarget>('wallet', walletId, {
        type: 'CreateWallet',
        data: { environmentId, environmentType, teamId, assetId, nameRecord },
      }),
    )
    return toWalletRecord(gateway, requireInTime(await findWallet(gateway.views, walletId)))
  },
})
