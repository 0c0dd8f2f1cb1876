/** What went wrong, in one sentence that tells the reader what to do. The program ends with 1. */
export class Failure extends Error {
  override readonly name = 'Failure'
}
