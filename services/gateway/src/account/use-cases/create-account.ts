import { command } from '@penstock/kernel/process.ts'
import type { EmailClaimTarget } from '@penstock/contracts/accounts.ts'
import { hashEmail } from '@penstock/credentials/credentials.ts'
import { hashPassword } from '@penstock/credentials/passwords.ts'
import { anyone } from '../../access.ts'
import { assertAccepted } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import { signUpLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import { completeLogin, createLoginToken } from './login-token.ts'
import { hasValidPasswordLength } from './passwords.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import type { AccountMutationsCreateArgs } from '../../generated/schema-types.ts'

/** Sign-up sends no e-mail, so a refusal reveals that an address is taken. The limit per IP address bounds the tries. */
const signUpRefused = () =>
  invalidInput(
    'The account cannot be created: use an e-mail address that has none yet, and a password of at least 12 characters.',
  )

const isEmail = (text: string): boolean =>
  text.length <= 254 && /^[^\s@"<>()[\]\\,;:]{1,64}@[^\s@"<>()[\]\\,;:]+\.[^\s@.]{2,}$/.test(text)

function parseSignUp({ input: { email, password } }: AccountMutationsCreateArgs) {
  const address = email.trim()
  if (!isEmail(address)) throw invalidInput('email must be an e-mail address')
  if (!hasValidPasswordLength(password)) throw signUpRefused()
  return { email: address, password }
}

export const createAccount = mutation({
  path: 'account.create',
  limit: signUpLimit,
  access: anyone,
  input: parseSignUp,
  run: async ({ email, password }, { gateway, ip }) => {
    const { ids, records, pepper, clock } = gateway
    const [accountId, emailRecord, passwordRecord] = [ids.uuid(), ids.uuid(), ids.uuid()]
    await records.put(emailRecord, 'email', JSON.stringify({ email }), clock.now())
    await records.put(passwordRecord, 'password', JSON.stringify({ hash: await hashPassword(pepper, password) }), clock.now())
    const login = createLoginToken(gateway, ip)
    const claim = { accountId, emailRecord, passwordRecord, tokenHash: login.tokenHash, tokenExpiresAt: login.expiresAt }
    const until = getAnswerDeadline(gateway)
    const claimEmail = command<EmailClaimTarget>('email', hashEmail(pepper, email), { type: 'ClaimEmail', data: claim })
    const answer = await gateway.commands.sendAndWait(claimEmail, { until, correlation: accountId })
    if (answer.outcome === 'refused') {
      await Promise.all([records.delete(emailRecord), records.delete(passwordRecord)])
      throw signUpRefused()
    }
    assertAccepted(answer)
    return completeLogin(gateway, login, accountId, until)
  },
})
