import { accountContract, emailClaimContract } from '@penstock/contracts/accounts.ts'
import { applyEach, type Area, readSdl } from '../area.ts'
import { eraseDeletedAccounts } from './erase.ts'
import { challengeLogin } from './use-cases/challenge-login.ts'
import { challengeNode } from './use-cases/challenge-node.ts'
import { changePassword } from './use-cases/change-password.ts'
import { connectNode } from './use-cases/connect-node.ts'
import { createAccount } from './use-cases/create-account.ts'
import { createApiKey } from './use-cases/create-api-key.ts'
import { deleteAccount } from './use-cases/delete-account.ts'
import { getApiKeys } from './use-cases/get-api-keys.ts'
import { getOwnAccount } from './use-cases/get-own-account.ts'
import { getSessions } from './use-cases/get-sessions.ts'
import { logIn } from './use-cases/log-in.ts'
import { logOutEverywhere } from './use-cases/log-out-everywhere.ts'
import { logOut } from './use-cases/log-out.ts'
import { revokeApiKey } from './use-cases/revoke-api-key.ts'
import { applyToAccounts } from './views/accounts.ts'
import { pruneSessions } from './views/sessions.ts'
import { accountMigrations } from './views/tables.ts'

/** Accounts with their credentials, sessions and nodes. */
export const accountArea: Area = {
  sdl: [readSdl('account.graphql', import.meta.url)],
  useCases: [
    getOwnAccount,
    getSessions,
    getApiKeys,
    createAccount,
    logIn,
    challengeLogin,
    logOut,
    logOutEverywhere,
    changePassword,
    deleteAccount,
    createApiKey,
    revokeApiKey,
    challengeNode,
    connectNode,
  ],
  projections: [
    {
      name: 'accounts',
      version: 1,
      from: [accountContract, emailClaimContract],
      // The other tables of this area are not folded from facts.
      tables: ['gateway_accounts', 'gateway_credentials', 'gateway_api_keys', 'gateway_nodes'],
      apply: applyEach(applyToAccounts),
    },
  ],
  migrations: accountMigrations,
  prune: async (ports) => {
    await eraseDeletedAccounts(ports)
    await pruneSessions(ports.views, ports.clock.now())
  },
}
