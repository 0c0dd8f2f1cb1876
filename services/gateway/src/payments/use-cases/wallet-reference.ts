import type { WalletRow } from '../read/wallets.ts'

/** The wallet of a transaction, as commands name it. */
export const toWalletReference = (wallet: WalletRow) => ({
  walletId: wallet.id,
  environmentId: wallet.environment_id,
  environmentType: wallet.environment_type,
  teamId: wallet.team_id,
  assetId: wallet.asset_id,
})
