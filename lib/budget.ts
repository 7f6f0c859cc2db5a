/**
 * What a module asks before it spends a KV operation.
 *
 * @module
 */

/** The four kinds of KV operations, each with a daily allowance of its own. */
export type KvOperation = "read" | "write" | "list" | "delete";

/** The answer to a request for operations. */
export interface BudgetGrant {
  /** Whether the operation may be done now. */
  readonly granted: boolean;
  /** Milliseconds after which asking again makes sense; 0 when granted. */
  readonly retryAfterMs: number;
}

/**
 * A ledger of KV operations by purpose. Memory only: asking costs no KV operation.
 *
 * `WriteBudget` is the implementation; a module that gets none spends freely.
 */
export interface Budget {
  /** Asks for `count` operations for a purpose and, when granted, books them. */
  take(purpose: string, operation?: KvOperation, count?: number): BudgetGrant;
  /** Books operations that were done without asking, for example the site's own. */
  note(purpose: string, operation: KvOperation, count?: number): void;
}
