/**
 * Decides whether to skip a suite, and prints the reason. On CI every suite has to run, so a reason is an error there.
 * @param suite the beginning of the message, such as 'Tests with containers are'
 * @returns whether to skip the suite, for `describe.skipIf` @throws Error on CI if there is a reason
 */
export function isSkipped(suite: string, reason: string | undefined): boolean {
  if (reason === undefined) return false
  if (process.env['CI'] !== undefined) throw new Error(reason)
  console.log(`${suite} skipped. ${reason}`)
  return true
}
