import { createStreamServices } from '@penstock/standalone/registry.ts'
import { type FlowLink, listDeclaredLinks } from '@penstock/testkit/record-flow.ts'
import { InvariantViolation } from './folded-log.ts'

/** The links that the services declare. docs/flow.md shows them. */
export const declaredLinks: ReadonlySet<FlowLink> = new Set(createStreamServices().flatMap(listDeclaredLinks))

/** @throws InvariantViolation if processes followed a link that no service declares */
export function checkDeclaredFlow(followed: Iterable<FlowLink>): void {
  const undeclared = [...followed].filter((link) => !declaredLinks.has(link) && !link.startsWith('job gateway.'))
  if (undeclared.length > 0)
    throw new InvariantViolation(
      'declared flow',
      `no service declares these consequences, so declare them, then run npm run generate: ${undeclared.join('; ')}`,
    )
}
