import { identityHolder } from '../../access.ts'
import { noInput, query } from '../../use-case.ts'
import { dashboardLimit } from '../limits.ts'
import { readProfile } from './profile.ts'

export const getOwnAccount = query({
  path: 'account.me',
  limit: dashboardLimit,
  access: identityHolder,
  input: noInput,
  run: (_, { gateway, caller }) => readProfile(gateway, caller.accountId),
})
