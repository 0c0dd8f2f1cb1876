/** A fact that happened, as its stream keeps it. `v` is the version of this type's shape. */
export type Fact<Type extends string = string, Data = object> = {
  readonly type: Type
  readonly v: number
  readonly data: Data
}

/** Somebody wants something. `at` is milliseconds since 1970: the only clock that a decision sees. */
export type Command<Type extends string = string, Data = object> = {
  readonly type: Type
  readonly id: string
  readonly at: number
  readonly data: Data
}
