import { readConfig } from '../packages/config/src/config.ts'
import { type Access, type AuthenticatedCaller, credentialKinds } from '../services/gateway/src/access.ts'
import { useCases } from '../services/gateway/src/areas.ts'
import type { RateLimit } from '../services/gateway/src/rate-limit.ts'
import type { GeneratedFiles } from './generated-files.ts'

const callers: readonly (AuthenticatedCaller | null)[] = [
  null,
  ...credentialKinds.map((kind) => ({ kind, accountId: 'account', orderId: kind === 'order' ? 'order' : null, credential: '' })),
]

function isAdmitted({ check }: Access<unknown>, caller: AuthenticatedCaller | null): boolean {
  try {
    check(caller)
    return true
  } catch {
    return false
  }
}

const describeLimit = ({ name, by, perMinute }: RateLimit): string =>
  `${name}: ${perMinute(readConfig({}))} a minute per ${by === 'ip' ? 'address' : 'account'}`

/** The callers and the rate limit of each operation. The table calls the checks of the use cases themselves. */
const renderPage = (): string => `# Access to the operations of GraphQL

A caller sends its credential in the header \`Authorization: Bearer\`. The keys are: the session key of an anonymous buyer, the
key of one order, the API key of an account, and the token of a user who logged in at the dashboard. An order key reads and
cancels its own order only. A limit shows its standard value; uses of the same limit count together.

| operation | no key | session | order | API | dashboard | limit |
|---|---|---|---|---|---|---|
${useCases
  .toSorted((one, other) => (one.path < other.path ? -1 : 1))
  .map(({ root, path, access, limit }) => {
    const cells = callers.map((caller) => (isAdmitted(access, caller) ? 'yes' : ''))
    return `| ${root.toLowerCase()} \`${path}\` | ${[...cells, limit ? describeLimit(limit) : ''].join(' | ')} |`
  })
  .join('\n')}

This page is made by \`npm run generate\`.
`

export const renderAccessTable = (): GeneratedFiles => new Map([['docs/api/access.md', renderPage()]])
