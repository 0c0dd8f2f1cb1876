/** An error whose message tells the user what to do. `penstock` prints only the message, and exits with code 1. */
export class Failure extends Error {
  override readonly name = 'Failure'
}
