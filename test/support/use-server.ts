import { afterAll, beforeAll } from 'vitest'

/**
 * Starts a server before the tests of a file, and stops it after them. @param isMissing whether the server cannot run here
 * @returns a function that returns the server, for use in tests
 */
export function useServer<Server extends { stop(): Promise<unknown> }>(
  start: () => Promise<Server>,
  isMissing = false,
): () => Server {
  let server: Server | undefined
  beforeAll(async () => {
    if (!isMissing) server = await start()
  })
  afterAll(() => server?.stop())
  return () => {
    if (!server) throw new Error('the server is started before the first test')
    return server
  }
}
