import {
  challengeLogin,
  createAccount,
  type CreateAccountInput,
  logIn,
  type LoginInput,
  logOut,
  me,
} from '../operations/accounts.ts'
import { changePassword, type ChangePasswordInput, logOutEverywhere } from '../operations/passwords.ts'
import { deleteAccount, type DeleteAccountInput } from '../operations/delete-account.ts'
import { createApiKey, type CreateApiKeyInput, listApiKeys, revokeApiKey } from '../operations/keys.ts'
import { challengeNode, connectNode, type ConnectNodeInput } from '../operations/nodes.ts'
import { listSessions } from '../operations/sessions.ts'
import type { PageInput } from '../input.ts'
import { changing, reading, type WithInput } from './operation.ts'

export const accountQueries = {
  me: reading((_: object, { gateway, caller }) => me(gateway, caller)),
  sessions: reading((_: object, { gateway, caller }) => listSessions(gateway, caller)),
  api_keys: reading(({ page }: { page?: PageInput }, { gateway, caller }) => listApiKeys(gateway, caller, page)),
}

export const accountMutations = {
  create: changing(({ input }: WithInput<CreateAccountInput>, { gateway, ip }) => createAccount(gateway, ip, input)),
  login: changing(({ input }: WithInput<LoginInput>, { gateway, ip }) => logIn(gateway, ip, input)),
  login_challenge: changing(async ({ pubkey }: { pubkey: string }, { gateway }) => challengeLogin(gateway, pubkey)),
  logout: changing((_: object, { gateway, caller }) => logOut(gateway, caller)),
  change_password: changing(({ input }: WithInput<ChangePasswordInput>, { gateway, caller, ip }) =>
    changePassword(gateway, caller, ip, input),
  ),
  log_out_everywhere: changing(({ end_api_keys }: { end_api_keys?: boolean | null }, { gateway, caller }) =>
    logOutEverywhere(gateway, caller, end_api_keys === true),
  ),
  delete: changing(({ input }: WithInput<DeleteAccountInput>, { gateway, caller, ip }) =>
    deleteAccount(gateway, caller, ip, input),
  ),
  create_api_key: changing(({ input }: WithInput<CreateApiKeyInput>, { gateway, caller }) =>
    createApiKey(gateway, caller, input),
  ),
  revoke_api_key: changing(({ id }: { id: string }, { gateway, caller }) => revokeApiKey(gateway, caller, id)),
}

export const nodeMutations = {
  challenge: changing(({ pubkey }: { pubkey: string }, { gateway, caller }) => challengeNode(gateway, caller, pubkey)),
  connect: changing(({ input }: WithInput<ConnectNodeInput>, { gateway, caller }) => connectNode(gateway, caller, input)),
}
