/** The kind of a sealed record. A secret that was sealed for one kind cannot be opened as another. */
export type SealedKind = 'webhook-secret' | 'macaroon'

/** Seals secrets that another service opens. A sealer cannot read a secret later, so that a theft of its keys reveals none. */
export interface Sealer {
  /** @returns a JSON text, which only an opener can read, and only for the same record and kind */
  seal(recordId: string, kind: SealedKind, secret: string): Promise<string>
}

/** Opens sealed secrets. */
export interface Opener {
  /**
   * @throws Fault if the key is missing, because a newer file may have it; a key must stay until no record uses it
   * @throws Bug if the text is damaged, or was sealed for another record or kind
   */
  open(recordId: string, kind: SealedKind, sealed: string): Promise<string>
}
