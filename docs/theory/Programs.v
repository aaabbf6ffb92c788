(** Programs and their runs.  docs/theory.md, "One theorem"; absint/program/steps.py.

    A program is a graph of nodes, written in an order in which they run. A node reads any node before it, in its own
    scope or around it. The body of a loop runs again and again, so a run visits its nodes again and again: the graph
    has cycles, from the body's results back to the head. A run is a sequence of small steps over a stack of scopes. *)

From Coq Require Import List ZArith.
Import ListNotations.

Set Implicit Arguments.

Section Programs.
  Variables node operator value binding : Type.

  (** What a loop reads: around it the limit of trips, the first condition, the first carried value; in the body the
      next condition, the next carried value, and what a trip adds to the scan output. Tuples are values. *)
  Record ports := { limit : node; first : node; start : node; head : node; go : node; back : node; scan : node }.

  Inductive block :=
  | Done
  | Then (s : statement) (rest : block)
  with statement :=
  | Op (n : node) (o : operator) (reads : list node)
  | If (n condition : node) (yes : block) (yes_result : node) (no : block) (no_result : node)
  | Loop (n : node) (p : ports) (body : block).

  Definition name s := match s with Op n _ _ | If n _ _ _ _ _ | Loop n _ _ => n end.

  (** What operators and control flow do. Where the data or the sizes are illegal, nothing is computed. *)
  Record semantics := {
    computes : binding -> operator -> list value -> value -> Prop;
    decides : value -> bool -> Prop;
    enters : value -> value -> nat -> Prop;  (** the limit, the condition, the trips made: one more trip *)
    stops : value -> value -> nat -> Prop;
    leaves : nat -> value -> list value -> value -> Prop  (** trips, carried value, scanned values: the loop's result *)
  }.

  Variable M : semantics.
  Variable sigma : binding.
  Variable needed : node -> Prop.

  (** The nodes that ran and are visible, the last one first, each with its value; a node that was left out has none. *)
  Definition env := list (node * option value).

  (** Where a scope is in a statement: in a branch; in a loop with this limit, at its head
      or in its body, after trips that left these values for the scan output. *)
  Inductive place := Branch (taken : bool) | Trip (most : value) (inside : bool) (scanned : list value).
  Inductive frame := Within (s : statement) (rest : block) (outer : env) (at_place : place).
  Inductive control := Running (b : block) | AtHead (condition : value).
  Definition config := (control * env * list frame)%type.

  Inductive step : config -> config -> Prop :=
  | step_operator n o reads rest e K vs v :
      Forall2 (fun m w => In (m, Some w) e) reads vs -> computes M sigma o vs v ->
      step (Running (Then (Op n o reads) rest), e, K) (Running rest, (n, Some v) :: e, K)
  | step_left_out s rest e K :
      ~ needed (name s) -> step (Running (Then s rest), e, K) (Running rest, (name s, None) :: e, K)
  | step_branch n c yes y no z rest e K v (taken : bool) :
      In (c, Some v) e -> decides M v taken ->
      step (Running (Then (If n c yes y no z) rest), e, K)
           (Running (if taken then yes else no), e, Within (If n c yes y no z) rest e (Branch taken) :: K)
  | step_join n c yes y no z rest e outer K (taken : bool) v :
      In (if taken then y else z, Some v) e ->
      step (Running Done, e, Within (If n c yes y no z) rest outer (Branch taken) :: K)
           (Running rest, (n, Some v) :: outer, K)
  | step_start n p body rest e K m v c :
      In (limit p, Some m) e -> In (start p, Some v) e -> In (first p, Some c) e ->
      step (Running (Then (Loop n p body) rest), e, K)
           (AtHead c, (head p, Some v) :: e, Within (Loop n p body) rest e (Trip m false []) :: K)
  | step_trip n p body rest e outer K m scanned c :
      enters M m c (length scanned) ->
      step (AtHead c, e, Within (Loop n p body) rest outer (Trip m false scanned) :: K)
           (Running body, e, Within (Loop n p body) rest outer (Trip m true scanned) :: K)
  | step_back n p body rest e outer K m scanned v c s :
      In (back p, Some v) e -> In (go p, Some c) e -> In (scan p, Some s) e ->
      step (Running Done, e, Within (Loop n p body) rest outer (Trip m true scanned) :: K)
           (AtHead c, (head p, Some v) :: outer, Within (Loop n p body) rest outer (Trip m false (scanned ++ [s])) :: K)
  | step_exit n p body rest e outer K m scanned c v w :
      stops M m c (length scanned) -> In (head p, Some v) e -> leaves M (length scanned) v scanned w ->
      step (AtHead c, e, Within (Loop n p body) rest outer (Trip m false scanned) :: K)
           (Running rest, (n, Some w) :: outer, K).

  (** A run goes from the whole program, at any point of it. One that succeeds is finished: all statements are done. *)
  Inductive reaches (program : block) : config -> Prop :=
  | reaches_start : reaches program (Running program, [], [])
  | reaches_next c c' : reaches program c -> step c c' -> reaches program c'.

  Definition finished (e : env) : config := (Running Done, e, []).

  (** What the main graph has computed so far. *)
  Fixpoint main_graph (e : env) (K : list frame) : env :=
    match K with
    | [] => e
    | Within _ _ outer _ :: K => main_graph outer K
    end.
End Programs.

Arguments Done {node operator}.
Arguments Branch {value}.
Arguments AtHead {node operator value}.
Arguments Running {node operator value}.
Arguments Within {node operator value}.
