(** The memo: summaries that are looked up.  docs/theory.md, "A graph without cycles"; absint/shapes/memo/cache.py.

    A summary is kept under its operator and inputs, and under the facts of the analysis if the rule looked at them. *)

From Coq Require Import List.
Import ListNotations.

Set Implicit Arguments.

Section Memo.
  Variables operator inputs facts summary : Type.
  Variable rule : facts -> operator -> inputs -> summary.
  Variable looked : facts -> operator -> inputs -> bool.

  (** A rule that did not look at facts gives the same under all others. *)
  Definition looks_decide :=
    forall known o x, looked known o x = false -> forall other, rule other o x = rule known o x.

  Record entry := { at_operator : operator; at_inputs : inputs; under : option facts; kept : summary }.

  Definition remembered known o x := {|
    at_operator := o;
    at_inputs := x;
    under := if looked known o x then Some known else None;
    kept := rule known o x
  |}.

  (** The entry serves an analysis under these facts. *)
  Definition serves (e : entry) known o x :=
    at_operator e = o /\ at_inputs e = x /\ (under e = Some known \/ under e = None).

  Inductive filled : list entry -> Prop :=
  | empty : filled []
  | grown memo known o x : filled memo -> filled (remembered known o x :: memo)
  | forgotten memo less : filled memo -> incl less memo -> filled less.

  (** What an analysis uses: the result of the rule, or one that any analysis left in the memo. *)
  Definition obtained known o x found :=
    found = rule known o x \/ exists memo e, filled memo /\ In e memo /\ serves e known o x /\ found = kept e.

  Lemma served_as_the_rule_gives memo :
    looks_decide -> filled memo -> forall e known o x, In e memo -> serves e known o x -> kept e = rule known o x.
  Proof.
    intro decide. induction 1 as [| memo known o x _ IH | memo less _ IH fewer]; intros e other p y inside use; eauto.
    - contradiction.
    - destruct inside as [<- | inside]; eauto.
      destruct use as (<- & <- & use). simpl in *. symmetry.
      destruct (looked known o x) eqn:look; [| now apply decide].
      destruct use as [is | wrong]; [now injection is as -> | discriminate].
  Qed.

  Theorem memo_gives_what_the_rule_gives known o x found :
    looks_decide -> obtained known o x found -> found = rule known o x.
  Proof.
    intros decide [-> | (memo & e & is_filled & inside & use & ->)]; auto.
    eapply served_as_the_rule_gives; eauto.
  Qed.
End Memo.
