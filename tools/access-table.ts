import { readConfig } from '../packages/config/src/config.ts'
import { type Access, type AuthenticatedCaller, credentialKinds } from '../services/gateway/src/access.ts'
import { useCases } from '../services/gateway/src/areas.ts'
import type { RateLimit } from '../services/gateway/src/rate-limit.ts'
import type { GeneratedFiles } from './generated-files.ts'

const callers: readonly (AuthenticatedCaller | null)[] = [
  null,
  ...credentialKinds.map((kind) => ({ kind, accountId: 'account', orderId: kind === 'order' ? 'order' : null, credential: '' })),
]

function isAdmitted({ check }: Access<unknown>, bearer: AuthenticatedCaller | null): boolean {
  try {
    check({ bearer, service: null })
    return true
  } catch {
    return false
  }
}

/** The permission that a service API key needs; empty if a key alone is not admitted. */
function describeKeyAccess({ permission, isPublic }: Access<unknown>): string {
  if (permission) return `${permission.resource}:${permission.level}`
  return isPublic ? 'yes' : ''
}

function describeLimit({ name, by, perMinute, ofServiceKey }: RateLimit): string {
  const config = readConfig({})
  const own = `${name}: ${perMinute(config)} a minute per ${by === 'ip' ? 'address' : 'account'}`
  return ofServiceKey ? `${own}; ${ofServiceKey.name}: ${ofServiceKey.perMinute(config)} a minute per key` : own
}

/** The callers and the rate limit of each operation. The table calls the checks of the use cases themselves. */
const renderPage = (): string => `# Access to the operations of GraphQL

A caller sends its credential in the header \`Authorization: Bearer\`. The keys are: the session key of an anonymous buyer, the
key of one order, the API key of an account, and the token of a user who logged in at the dashboard. An order key reads and
cancels its own order only.

A service sends its service API key in the header \`x-api-key\`. Its column shows the permission that the key needs; WRITE
implies READ. A key for one wallet is refused by the operations on environments. A request may have both headers. Then the
service API key decides about payments, and the Bearer credential about all other operations. Each header that is sent must be
valid.

A limit shows its standard value; uses of the same limit count together. For a limit per account or key, a request counts once,
and each further use of the same operation in it counts once more. Unknown service API keys count per address, with the value of
the dashboard's limit.

| operation | no key | session | order | API | dashboard | service key | limit |
|---|---|---|---|---|---|---|---|
${useCases
  .toSorted((one, other) => (one.path < other.path ? -1 : 1))
  .map(({ root, path, access, limit }) => {
    const cells = [...callers.map((caller) => (isAdmitted(access, caller) ? 'yes' : '')), describeKeyAccess(access)]
    return `| ${root.toLowerCase()} \`${path}\` | ${[...cells, limit ? describeLimit(limit) : ''].join(' | ')} |`
  })
  .join('\n')}

This page is made by \`npm run generate\`.
`

export const renderAccessTable = (): GeneratedFiles => new Map([['docs/api/access.md', renderPage()]])
