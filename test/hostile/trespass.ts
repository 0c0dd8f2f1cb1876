import type { Shot } from './shot.ts'

/** What is carried out for whoever shows no credential. Everything else that changes something is somebody's. */
const OPEN: readonly RegExp[] = [
  /^mutation liquidity\.buy$/,
  /^mutation account\.(?:create|login|login_challenge)$/,
  /^POST \/api\/lsp\/v1\/[^/]+\/create_order$/,
]
/** No document of LSPS1 knows a credential, so a wrong one is not looked at. */
const UNASKED = /^POST \/api\/lsp\/v1\//

/**
 * An answer that shows something as carried out explains the facts that follow, so who asked has to be looked at first.
 * @param target what was hit @param done how many results the answer shows as carried out
 * @returns what is wrong where that was not this caller's to do
 */
export function trespass(target: string, { caller }: Pick<Shot, 'caller'>, done: number): string | undefined {
  if (done === 0 || (caller !== 'nobody' && caller !== 'stranger')) return undefined
  const isOpen = OPEN.some((open) => open.test(target)) && (caller === 'nobody' || UNASKED.test(target))
  return isOpen ? undefined : `${target} was carried out for ${caller}`
}
